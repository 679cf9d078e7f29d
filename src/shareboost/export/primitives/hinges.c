static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i) {
        const float above = (float)x[${prefix}_columns[i]] - ${prefix}_thresholds[i];
        const float side = ${prefix}_below[i] ? -above : above;
        ${name}_add($start + i, $value$scaled, scores);
    }
}
