// What modules are made of. Neither `</` nor `<!--` may occur, so that a module can be put into
// an HTML script element as it is. Words after a dollar sign are filled in.

//@ head
/**
 * A classifier of $k classes, of rows of $n_inputs numbers.
 *
 *     import { predict } from "./model.mjs";
 *     predict(row); // one of `classes`
 *
 * Written by shareboost $version.
 *
 * @module
 */

/** The labels of the classes. @type {readonly ($label_type)[]} */
export const classes = Object.freeze([$classes]);

/** How many numbers a row has. */
export const nInputs = $n_inputs;

/** Their names. @type {readonly string[]} */
export const inputNames = Object.freeze($input_names);

/** The names of the chosen features, as `features` returns them. @type {readonly string[]} */
export const featureNames = Object.freeze([$feature_names]);

// What computes the features. Values are put at `places`.
const parts = [
$parts];

// Feature after feature, a number a class.
const weights = $weights;

// What is subtracted from each feature before it is weighted.
const offsets = $offsets;

const intercept = $intercept;

//@ numbered
Array.from({ length: nInputs }, (_, j) => `x${j}`)

//@ no_offsets
new Float64Array(featureNames.length)

//@ finite_or_nan
// What a number of the row may be.
const isValid = (x) => Number.isFinite(x) || Number.isNaN(x);
const VALID = "a finite number or NaN";

//@ finite
const isValid = Number.isFinite;
const VALID = "a finite number";

//@ predictor
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
 * @returns {$label_type} One of `classes`.
 */
export function predict(row) {
  return classes[predictIndex(row)];
}

//@ softmax
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

//@ sigmoids
/**
 * The sigmoids of the scores over their sum: the classes were trained one by one.
 *
 * @param {ArrayLike<number>} row - `nInputs` numbers.
 * @returns {Float64Array} One probability a class.
 */
export function probabilities(row) {
  // Logarithms of the sigmoids: where all underflow, the nearest to it is still the largest.
  const found = scores(row).map((score) => {
    const s = $slope * score;
    return Math.min(s, 0) - Math.log1p(Math.exp(-Math.abs(s)));
  });
  const largest = Math.max(...found);
  let total = 0;
  for (let q = 0; q < found.length; q++) total += found[q] = Math.exp(found[q] - largest);
  return found.map((p) => p / total);
}

//@ piece_names
/** Names of the values of a piece. */
function ofPiece(piece) {
  return [...inputNames.map((name) => `${piece}: ${name}`), piece];
}

//@ float32
/** Decode numbers of four bytes, the lowest byte first. */
function float32(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
  const found = new Float32Array(bytes.byteLength / 4);
  for (let i = 0; i < found.length; i++) found[i] = bytes.getFloat32(4 * i, true);
  return found;
}

//@ float64
/** Decode numbers of eight bytes, the lowest byte first. */
function float64(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
  const found = new Float64Array(bytes.byteLength / 8);
  for (let i = 0; i < found.length; i++) found[i] = bytes.getFloat64(8 * i, true);
  return found;
}

//@ check
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
