/** Hinges: what a column has above its threshold, or below it, else 0. */
function hinges({ places, columns, thresholds, below }, row, values) {
  for (let i = 0; i < places.length; i++) {
    const above = row[columns[i]] - thresholds[i];
    values[places[i]] = Math.max(0, below[i] ? -above : above);
  }
}
