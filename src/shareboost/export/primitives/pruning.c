//@ root
/* At least the square root: a step of Newton's never ends below it. */
static inline float ${name}_root(float square)
{
    uint32_t bits;
    float root;
    if (!(square > 0.0f))
        return 0.0f;
    memcpy(&bits, &square, sizeof bits);
    bits = (bits >> 1) + 0x1fbb4000u;
    memcpy(&root, &bits, sizeof root);
    root = 0.5f * (root + square / root);
    return 0.500005f * (root + square / root);
}

//@ energy
// At each place, by all pixels under a template, or by what is left of them without their mean.
${name}_root(square_at[place] * $slack)

//@ energy_less_mean
${name}_root(square_at[place] * $slack - sum_at[place] * sum_at[place] * $n) + $share * (sum_at[place] < 0.0f ? -sum_at[place] : sum_at[place])

//@ energies
/* The most that a template of norm 1 can respond at each place. */
static inline void ${prefix}_energies(const $input *x, float energy[$down][$across])
{
    float sums[$width], squares[$width], sum_at[$across], square_at[$across];
    int y, column, place, i;
    for (y = 0; y < $down; ++y) {
        for (column = 0; column < $width; ++column)
            sums[column] = squares[column] = 0.0f;
        for (i = 0; i < $rows * $channels; ++i) {
            const $input *line = x + (y + i / $channels) * $width * $channels + i % $channels;
            for (column = 0; column < $width; ++column) {
                const float pixel = (float)line[column * $channels]$smaller;
                sums[column] += pixel;
                squares[column] += pixel * pixel;
            }
        }
        SHAREBOOST_COUNT($width * $rows * $channels);
        for (place = 0; place < $across; ++place)
            sum_at[place] = square_at[place] = 0.0f;
        for (i = 0; i < $columns; ++i)
            for (place = 0; place < $across; ++place) {
                sum_at[place] += sums[place + i];
                square_at[place] += squares[place + i];
            }
        for (place = 0; place < $across; ++place)
            energy[y][place] = $energy;
    }
}

/* The most and the least that a template of norm 1 can respond under each mask, and the most in
 * each row under each mask across. */
static inline void ${prefix}_ranges(
    float energy[$down][$across], float peak[$masks_across][$down],
    float high[$masks_down][$masks_across], float low[$masks_down][$masks_across])
{
    int a, d, y, place;
    for (d = 0; d < $masks_down; ++d)
        for (a = 0; a < $masks_across; ++a) {
            high[d][a] = 0.0f;
            low[d][a] = -FLT_MAX;
        }
    for (y = 0; y < $down; ++y)
        for (a = 0; a < $masks_across; ++a) {
            float most = 0.0f, least = FLT_MAX;
            for (place = 0; place < $across; ++place) {
                const float bound = ${prefix}_across[a][place] * energy[y][place];
                most = bound > most ? bound : most;
                least = bound < least ? bound : least;
            }
            peak[a][y] = most;
            for (d = 0; d < $masks_down; ++d) {
                const float mask = ${prefix}_down[d][y];
                high[d][a] = mask * most > high[d][a] ? mask * most : high[d][a];
                low[d][a] = -mask * least > low[d][a] ? -mask * least : low[d][a];
            }
        }
}

//@ rest
// What the features from one on can add to the score of each class, less that of the best.
static inline void ${prefix}_rest(
    float high[$masks_down][$masks_across], float low[$masks_down][$masks_across], int first,
    int best, float *rest)
{
    int i, q;
    for (i = first; i < $n; ++i) {
        const int d = ${prefix}_features[i][1], a = ${prefix}_seen[i];
        const float size = 1.00001f$scaled / ${prefix}_inverse[i];
        const float most = size * high[d][a], least = size * low[d][a];
        const float own = $own;
        for (q = 0; q < $k; ++q) {
            const float more = $others - own;
            rest[q] += more > 0.0f ? more * most : more * least;
        }
    }
    SHAREBOOST_COUNT(2 * $k * ($n - first));
}

//@ block
/* The least that features of a block have found under each mask, for templates of norm 1. */
static inline void ${prefix}_found(
    int block, const float *best, float found[$masks_down][$masks_across])
{
    int a, d, i;
    for (d = 0; d < $masks_down; ++d)
        for (a = 0; a < $masks_across; ++a)
            found[d][a] = FLT_MAX;
    for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i) {
        float *least = &found[${prefix}_features[i][1]][${prefix}_seen[i]];
        const float own = best[i] * ${prefix}_inverse[i];
        *least = own < *least ? own : *least;
    }
    SHAREBOOST_COUNT(${prefix}_ends[block + 1][2] - ${prefix}_ends[block][2]);
}

/* The places of a row where a template of a block may find more than it has. */
static inline int ${prefix}_open(
    const float *energy, float peak[$masks_across][$down], int y,
    float found[$masks_down][$masks_across], unsigned char *open)
{
    int a, d, place, any = 0;
    for (place = 0; place < $across; ++place)
        open[place] = 0;
    for (a = 0; a < $masks_across; ++a) {
        float needed = FLT_MAX;
        for (d = 0; d < $masks_down; ++d)
            if (found[d][a] < FLT_MAX) {
                const float own = found[d][a] / ${prefix}_down[d][y];
                needed = own < needed ? own : needed;
            }
        if (!(peak[a][y] > needed))
            continue;
        any = 1;
        for (place = 0; place < $across; ++place)
            open[place] |= ${prefix}_across[a][place] * energy[place] > needed;
        SHAREBOOST_COUNT($across);
    }
    return any;
}

/* Writes the values of a block's features; begins at the row where its first may find most. */
static inline void ${prefix}_block(
    const $input *x, int block, $entry lists[$down][$across][$listed],
    float energy[$down][$across], float peak[$masks_across][$down], float *best)
{
    const int begin = ${prefix}_box[block][0], end = ${prefix}_box[block][1];
    const float *down = ${prefix}_down[${prefix}_features[${prefix}_ends[block][2]][1]];
    const float *most = peak[${prefix}_seen[${prefix}_ends[block][2]]];
    float found[$masks_down][$masks_across];
    unsigned char open[$across];
    int i, y, start = begin;
    for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i)
        best[i] = end - begin < $down ? 0.0f : -FLT_MAX;
    for (y = begin; y < end; ++y)
        if (down[y] * most[y] > down[start] * most[start])
            start = y;
    for (i = 0; i < end - begin; ++i) {
        y = i < end - start ? start + i : end - 1 - i;
        if ($renewed)
            ${prefix}_found(block, best, found);
        if (${prefix}_open(energy[y], peak, y, found, open))
            ${prefix}_row(x, y, block, lists[y], open, best);
    }
}

//@ declared
// Within the function that predicts: what it declares, what it does first, and its search.
    float ${prefix}_energy[$down][$across], ${prefix}_peak[$masks_across][$down];
    float ${prefix}_high[$masks_down][$masks_across], ${prefix}_low[$masks_down][$masks_across];

//@ bounded
    ${prefix}_energies(x, ${prefix}_energy);
    ${prefix}_ranges(${prefix}_energy, ${prefix}_peak, ${prefix}_high, ${prefix}_low);
    for (i = 0; i < $masks_down * $masks_across; ++i)
        margin += ${prefix}_sizes[i] * ${prefix}_high[i / $masks_across][i % $masks_across];

//@ search
    {
        $entry lists[$down][$across][$listed];
        float best[$n];
        int block, y;
        for (y = 0; y < $down; ++y)
            ${prefix}_list(x, y, lists[y]);
        for (block = 0; block < $blocks; ++block) {
            ${prefix}_block(x, block, lists, ${prefix}_energy, ${prefix}_peak, best);
            for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i)
                ${name}_add($start + i, best[i]$scaled, scores);
            if (block % $checked)
                continue;
            winner = ${name}_best(scores);
            for (i = 0; i < $k; ++i)
                rest[i] = margin;
            ${prefix}_rest(
                ${prefix}_high, ${prefix}_low, ${prefix}_ends[block + 1][2], winner, rest);
$later
            if (${name}_settled(scores, rest, winner))
                return winner;
        }
    }

//@ later
            ${prefix}_rest(${prefix}_high, ${prefix}_low, 0, winner, rest);
