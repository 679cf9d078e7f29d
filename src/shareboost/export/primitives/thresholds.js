/** Stumps: 1 where the column is at most the threshold, else 0, for NaN too. */
function tests({ places, columns, thresholds }, row, values) {
  for (let i = 0; i < places.length; i++) {
    values[places[i]] = row[columns[i]] <= thresholds[i] ? 1 : 0;
  }
}
