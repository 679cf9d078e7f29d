/** Columns of the row as they are. */
function reads({ places, columns }, row, values) {
  for (let i = 0; i < places.length; i++) values[places[i]] = row[columns[i]];
}
