/** The data of the report, unpacked model by model. */

const LARGEST_CODE = 127;

/** Bytes of base64. */
function decoded(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** Signed bytes of base64. */
export function signedBytes(base64) {
  return new Int8Array(decoded(base64).buffer);
}

export class Report {
  /** @param {object} data - As `packed` in Python returns it. */
  constructor(data) {
    Object.assign(this, data);
    this.size = data.models.n_features.length;
    this.k = data.classes.length;
    this.matrices = this.confusionMatrices();
    this.known = new Map();
  }

  /** What a model holds, by place in the path. */
  model(index) {
    if (!this.known.has(index)) {
      const { models } = this;
      const features = models.features[index];
      this.known.set(index, {
        index,
        nFeatures: models.n_features[index],
        nInputs: models.n_inputs_read[index],
        wrong: models.wrong[index],
        error: models.error[index],
        interval: models.interval[index],
        trainError: models.train_error[index],
        loss: models.loss[index],
        price: models.price[index],
        costs: models.costs && {
          multiplyAdds: models.costs.multiply_adds[index],
          flash: models.costs.flash[index],
          ram: models.costs.ram[index],
        },
        confusion: this.matrices[index],
        features: Array.isArray(features)
          ? features
          : Array.from({ length: features }, (_, i) => i),
        weights: this.weights(index),
      });
    }
    return this.known.get(index);
  }

  /** Weights, feature after feature, a number a class. */
  weights(index) {
    const { largest, codes } = this.models.weights[index];
    return Float64Array.from(signedBytes(codes), (code) => {
      const share = code / LARGEST_CODE;
      return largest * share * Math.abs(share);
    });
  }

  /** All confusion matrices, from what changes between them. */
  confusionMatrices() {
    const matrix = new Int32Array(this.k * this.k);
    return this.models.confusion.map((changes) => {
      for (let i = 0; i < changes.length; i += 2) matrix[changes[i]] += changes[i + 1];
      return matrix.slice();
    });
  }

  /** What the models predict for a misclassified image, by place in the path. */
  predictionsOf(error) {
    const raw = decoded(error.predicted);
    return this.k <= 256 ? raw : new Uint16Array(raw.buffer);
  }

  /** The pixels of all misclassified images, from 0 to 255. */
  errorPixels() {
    return decoded(this.images.pixels.codes);
  }
}

/**
 * The classes that a feature speaks for and against, the strongest first.
 *
 * @param {Float64Array} weights - Of one feature, a number a class.
 * @param {number} leastShare - Of its largest weight, what a weight must be to count.
 */
export function voices(weights, leastShare) {
  const largest = weights.reduce((most, w) => Math.max(most, Math.abs(w)), 0);
  const least = leastShare * largest;
  const loud = [...weights.keys()].filter((q) => largest && Math.abs(weights[q]) >= least);
  loud.sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
  return {
    speaksFor: loud.filter((q) => weights[q] > 0),
    speaksAgainst: loud.filter((q) => weights[q] < 0),
  };
}
