//@ settled
/* Whether no class can overtake the best by what is left for it. */
static inline int ${name}_settled(const float *scores, const float *rest, int best)
{
    int q;
    for (q = 0; q < $k; ++q)
        if (q != best && scores[q] + rest[q] >= scores[best])
            return 0;
    return 1;
}

//@ declared
    int i, winner, first, check = 0;

//@ declared_of_search
    float rest[$k], margin = 0.0f;
    int i, winner;

//@ static
    for (first = 0; first < $n; first += $every, ++check) {
        ${prefix}(x, first, first + $every < $n ? first + $every : $n, scores);
        winner = ${name}_best(scores);
        if (check < $checks && ${name}_settled(scores, ${name}_rest[check * $k + winner], winner))
            return winner;
    }

//@ margin
    for (i = 0; i < $k; ++i)
        margin += $rounding * (scores[i] < 0.0f ? -scores[i] : scores[i]);

//@ predict
static inline int ${name}_predict(const $input *x)
{
    float scores[$k];$declared
    for (i = 0; i < $k; ++i)
        scores[i] = ${name}_intercept[i];$body
    return ${name}_best(scores);
}
