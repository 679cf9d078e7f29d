/**
 * Templates: the largest over all places of response times mask.
 *
 * Values come in the order of their templates, so that those of one template under several
 * masks share its responses. Only pixels other than zero are multiplied.
 */
function matches(part, row, values) {
  const { places, unit, width, channels, rows, columns, templates } = part;
  const { template, nDown, masksDown, down, nAcross, masksAcross, across } = part;
  const size = rows * columns * channels;
  const line = columns * channels; // pixels of the template that are neighbours in the row
  const ends = new Int32Array(nAcross); // of the pixels under the template at each place
  const taps = new Int32Array(nAcross * size); // on which of its pixels they are
  const pixels = new Float64Array(nAcross * size);
  const responses = new Float64Array(nAcross);
  for (const place of places) values[place] = -Infinity;
  for (let y = 0; y < nDown; y++) {
    let n = 0;
    for (let x = 0; x < nAcross; x++) {
      for (let tap = 0; tap < size; tap++) {
        const pixel = row[((y + Math.floor(tap / line)) * width + x) * channels + (tap % line)];
        if (pixel !== 0) {
          taps[n] = tap;
          pixels[n++] = pixel / unit;
        }
      }
      ends[x] = n;
    }
    for (let i = 0; i < places.length; i++) {
      if (i === 0 || template[i] !== template[i - 1]) {
        const first = template[i] * size;
        for (let x = 0, n = 0; x < nAcross; x++) {
          const end = ends[x];
          let response = 0;
          for (; n < end; n++) response += templates[first + taps[n]] * pixels[n];
          responses[x] = response;
        }
      }
      const mask = across[i] * nAcross;
      let largest = -Infinity;
      for (let x = 0; x < nAcross; x++) {
        const masked = masksAcross[mask + x] * responses[x];
        if (masked > largest) largest = masked;
      }
      const best = unit * masksDown[down[i] * nDown + y] * largest;
      if (best > values[places[i]]) values[places[i]] = best;
    }
  }
}
