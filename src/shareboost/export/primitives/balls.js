/**
 * Pieces: a linear function of the row inside a ball, whose values are zero outside.
 *
 * Coordinates are rounded to float32, in which the balls were measured: a row is inside here
 * where it was in training.
 */
function balls({ hard, starts, centres, squaredRadii, mean, unit }, row, values) {
  const point = new Float32Array(nInputs);
  for (let j = 0; j < nInputs; j++) point[j] = (row[j] - mean[j]) / unit;
  for (let i = 0; i < starts.length; i++) {
    const centre = i * nInputs;
    const squaredRadius = squaredRadii[i];
    let distance = 0;
    for (let j = 0; j < nInputs && distance < squaredRadius; j++) {
      const apart = Math.fround(point[j] - centres[centre + j]);
      distance += apart * apart;
    }
    if (Math.fround(distance) >= squaredRadius) continue;
    const depth = hard ? 1 : 1 - distance / squaredRadius;
    for (let j = 0; j < nInputs; j++) {
      const origin = hard ? 0 : mean[j] + unit * centres[centre + j];
      values[starts[i] + j] = depth * (row[j] - origin);
    }
    values[starts[i] + nInputs] = depth;
  }
}
