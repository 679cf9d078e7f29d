"""The JavaScript that computes each kind of part, and what every module ends with.

Written for reading: a module holds the functions of its own kinds alone, as they stand here.
Neither ``</`` nor ``<!--`` may occur, so that a module can be put into an HTML script element as
it is. LABELS stands for the type of the labels, SLOPE for the slope of sigmoids.
"""

from __future__ import annotations

READS = """\
/** Columns of the row as they are. */
function reads({ places, columns }, row, values) {
  for (let i = 0; i < places.length; i++) values[places[i]] = row[columns[i]];
}
"""

THRESHOLDS = """\
/** Stumps: 1 where the column is at most the threshold, else 0, for NaN too. */
function tests({ places, columns, thresholds }, row, values) {
  for (let i = 0; i < places.length; i++) {
    values[places[i]] = row[columns[i]] <= thresholds[i] ? 1 : 0;
  }
}
"""

PRODUCTS = """\
/** Products of two columns; a left one of -1 stands for the constant 1. */
function products({ places, left, right, single }, row, values) {
  for (let i = 0; i < places.length; i++) {
    const product = (left[i] < 0 ? 1 : row[left[i]]) * row[right[i]];
    values[places[i]] = single ? Math.fround(product) : product; // as in training
  }
}
"""

BALLS = """\
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
"""

MATCHES = """\
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
"""

PIECE_NAMES = """\
/** Names of the values of a piece. */
function ofPiece(piece) {
  return [...inputNames.map((name) => `${piece}: ${name}`), piece];
}
"""

FLOAT32 = """\
/** Decode numbers of four bytes, the lowest byte first. */
function float32(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
  const found = new Float32Array(bytes.byteLength / 4);
  for (let i = 0; i < found.length; i++) found[i] = bytes.getFloat32(4 * i, true);
  return found;
}
"""

FLOAT64 = """\
/** Decode numbers of eight bytes, the lowest byte first. */
function float64(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
  const found = new Float64Array(bytes.byteLength / 8);
  for (let i = 0; i < found.length; i++) found[i] = bytes.getFloat64(8 * i, true);
  return found;
}
"""

# What a number of the row may be.
FINITE = """\
const isValid = Number.isFinite;
const VALID = "a finite number";
"""
FINITE_OR_NAN = """\
const isValid = (x) => Number.isFinite(x) || Number.isNaN(x);
const VALID = "a finite number or NaN";
"""

SOFTMAX = """\
/**
 * The softmax of the scores.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @returns {Float64Array} One probability a class.
 */
export function probabilities(row) {
  const found = scores(row);
  const largest = Math.max(...found);
  let total = 0;
  for (let q = 0; q < found.length; q++) total += found[q] = Math.exp(found[q] - largest);
  return found.map((p) => p / total);
}
"""

SIGMOIDS = """\
/**
 * The sigmoids of the scores over their sum: the classes were trained one by one.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @returns {Float64Array} One probability a class.
 */
export function probabilities(row) {
  // Logarithms of the sigmoids: where all underflow, the nearest to it is still the largest.
  const found = scores(row).map((score) => {
    const s = SLOPE * score;
    return Math.min(s, 0) - Math.log1p(Math.exp(-Math.abs(s)));
  });
  const largest = Math.max(...found);
  let total = 0;
  for (let q = 0; q < found.length; q++) total += found[q] = Math.exp(found[q] - largest);
  return found.map((p) => p / total);
}
"""

PREDICTOR = """\
/**
 * The values of the chosen features, those that `featureNames` names.
 *
 * @param {ArrayLike<number>} row - An array or a typed array of `nInputs` numbers.
 * @returns {Float64Array} One value a feature.
 * @throws {TypeError} Where the row is something else.
 */
export function features(row) {
  check(row);
  const values = new Float64Array(featureNames.length);
  for (const part of parts) part.compute(part, row, values);
  return values;
}

/**
 * The score of every class; that of the predicted one is the largest.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @param {Float64Array | number[]} [out] - Filled and returned where it is given.
 * @returns {Float64Array | number[]} One score a class.
 */
export function scores(row, out = new Float64Array(classes.length)) {
  const values = features(row);
  const k = classes.length;
  for (let q = 0; q < k; q++) out[q] = intercept[q];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] - offsets[i];
    if (value !== 0) for (let q = 0; q < k; q++) out[q] += weights[i * k + q] * value;
  }
  return out;
}

/**
 * What every feature adds to the score of a class; with the intercept they make up the score.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @param {number} index - Of the class, in `classes`.
 * @returns {Float64Array} One number a feature.
 */
export function contributions(row, index) {
  const k = classes.length;
  if (!Number.isInteger(index) || index < 0 || index >= k) {
    throw new RangeError(`index is ${String(index)}: it takes an integer from 0 to ${k - 1}.`);
  }
  return features(row).map((value, i) => weights[i * k + index] * (value - offsets[i]));
}

/**
 * The place in `classes` of the highest score, the first of equals.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @returns {number} An index of `classes`.
 */
export function predictIndex(row) {
  const found = scores(row);
  let best = 0;
  for (let q = 1; q < found.length; q++) if (found[q] > found[best]) best = q;
  return best;
}

/**
 * The label of the class of the highest score.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @returns {LABELS} One of `classes`.
 */
export function predict(row) {
  return classes[predictIndex(row)];
}
"""

CHECK = """\
/** Throw unless the row is an array of `nInputs` numbers that may be. */
function check(row) {
  if (!(Array.isArray(row) || ArrayBuffer.isView(row)) || row.length !== nInputs) {
    const got = row?.length === undefined ? typeof row : `${typeof row} of length ${row.length}`;
    throw new TypeError(`row is ${got}: it takes an array or a typed array of ${nInputs} numbers.`);
  }
  for (let j = 0; j < nInputs; j++) {
    if (!isValid(row[j])) {
      throw new TypeError(`row[${j}] is ${String(row[j])}: it takes ${VALID}.`);
    }
  }
}
"""
