/** Products of two columns; a left one of -1 stands for the constant 1. */
function products({ places, left, right, single }, row, values) {
  for (let i = 0; i < places.length; i++) {
    const product = (left[i] < 0 ? 1 : row[left[i]]) * row[right[i]];
    values[places[i]] = single ? Math.fround(product) : product; // as in training
  }
}
