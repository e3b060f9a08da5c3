"""Constants that affect queries, recommendations or reports and are no parameters.

Defaults of parameters are in their signatures. The values here were measured, or are guesses that
no measurement contradicted; other values would be valid as well. The line above a constant
describes it, with the number of its decision in ``doc/development/decisions`` if it has one.
``python -m benchmarks.ablate NAME`` measures the effect of other values. Code must read
``defaults.NAME`` at each use and never copy it at import, so that a benchmark can replace it.

Constants that change no query are defined in the modules that use them, with their kind: rounding,
accuracy, memory, limits, formats, mathematics. Units: lengths are shares of the sides of the search
space, answers are in units of their standard deviation, variances in units of the variance of the
answers, unless a line says otherwise.
"""

from __future__ import annotations

# -- the first queries ------------------------------------------------------------------------

# Number of distinct queries in the first design, if the kernel is not given (D-G6).
N_INITIAL = 10
# Number of numeric sides from which on the first query is the middle of the box (D-G6).
MIDDLE_FIRST = 24
# Deviations by which another setting must be better than this one to be recommended (D-G6).
MIDDLE_MARGIN = 1.0
# Largest distance of neighbours in a first design on the line, in deviations of the blur (D-G8).
BLUR_SPACING = 2.0
# Largest size of a first design that is enlarged to keep this distance (D-G8).
MOST_INITIAL = 25
# Number of settings from which the first design of a constrained box is chosen (D-H50).
N_DESIGN_POOL = 1024

# -- which queries are compared ---------------------------------------------------------------

# Largest dimension in which candidates fill the box; in more, all follow the posterior (D-D10).
GRID_DIMENSIONS = 3
# Largest number of points of this grid along a side.
GRID_PER_AXIS = 200
# One in this number of rounds is for the branch, or level, with the fewest answers (D-H49).
BRANCH_ROUND = 3
# This ends when each branch has so many answers for each of its numbers (D-H49).
BRANCH_ANSWERS = 15
# Standard deviations of the bonus within this branch, at a length scale of its spacing (D-H49).
BRANCH_BONUS = 3.0
# One in this number of candidates follows the posterior if the others fill the box (D-D10).
LOCAL_SHARE = 4
# One in this number of candidates follows the posterior if sides have separate values (D-H49).
LOCAL_SHARE_OF_SETTINGS = 2
# Number of the best points, cells or trials that candidates follow (D-H31).
N_CENTERS = 5
# Candidates are at a distance of 10^-u sides from the point that they follow: largest u (D-D10).
LOCAL_NEAREST = 3.5
# Smallest u of these distances.
LOCAL_FARTHEST = 0.5
# Largest number of vertices of a constrained box that are all candidates (D-H40).
MOST_VERTICES = 64
# Number of the best candidates, apart from each other, that start a local search (D-H23).
N_STARTS = 4
# Least distance of these starts along some side (D-H23).
START_DISTANCE = 0.1
# Number of moves of all candidates in a round that keeps none of the last round.
N_FOLLOWING_STEPS = 3
# Multiplications to move candidates in a round, at most: about a millisecond (D-D10).
MOST_MULTIPLICATIONS = 2**24
# Number of candidate cells that move in a round (D-H31).
N_MOVED_CELLS = 16
# Standard deviations added to the mean to rank the targets that candidates follow (D-H31).
FOLLOWED_OPTIMISM = 2.0
# Number of candidates that fill the cube of Optuna's parameters.
OPTUNA_EVERYWHERE = 400
# Number of candidates around the best trials of Optuna.
OPTUNA_NEAR = 200
# Number of values on a decade of a logarithmic side with steps of three significant digits.
STEPS_PER_DECADE = 200
# Quantile at which infinite ends of a distribution are cut off.
DISTRIBUTION_TAIL = 1.0 / 1024

# -- cells and trees --------------------------------------------------------------------------

# Number of points that represent a cell, along a side (D-A1).
CELL_POINTS_PER_AXIS = 10
# Largest number of points that represent a cell (D-A1).
CELL_POINTS = 100
# Largest number of members that represent a cell of a pool (D-A1).
POOL_CELL_POINTS = 32
# Number of cuts along each side after which cells are not split (D-A3).
CUTS_PER_AXIS = 10
# C2 and C3 of Claim 2, which the paper does not specify (D-B3).
CLAIM2_CONSTANTS = (1.0, 1.0)
# Standard deviations from which on a shifted cell counts as better than the recommended one.
Z_SIGNIFICANT = 2.0
# Largest number of cells that are split after one answer (D-A12).
SPLITS_PER_ROUND = 256
# Number of leaves from which on GPOO splits only leaves that may be the best (D-A12).
MANY_LEAVES = 3072
# Number of points along each side at which cells of one size are compared.
N_FEW_POINTS = 4

# -- exploration ------------------------------------------------------------------------------

# beta of GP-UCB without a horizon; "simple" only if answers have noise (D-D9).
BETA = {"cumulative": 2.0, "simple": 4.0}
# Square root of beta in the first round of a horizon; it decreases to 0 at the end (D-D9).
FIRST_ROOT_OF_BETA = {"cumulative": 3.0, "simple": 4.0}
# Last share of a horizon that uses the knowledge gradient, for simple regret (D-D9).
KNOWLEDGE_GRADIENT_SHARE = 0.2
# Factor of beta if sides have separate values (D-H49).
SETTINGS_BETA_FACTOR = 3.0
# Number of sides from which on beta is larger, for simple regret without a horizon (D-D9).
MANY_SIDES = 8
# Factor of beta in boxes of so many sides (D-D9).
MANY_SIDES_BETA_FACTOR = 2.25
# Share of a range below which a deviation, or an error, counts as zero (D-H40, D-H44).
NEGLIGIBLE = 1e-3
# By the number of sides: period of queries far from all answers, for simple regret (D-D9).
EXPLORATION_PERIOD = {1: 3, 2: 5}
# Margin over the incumbent in the probability of improvement, for indirect queries.
IMPROVEMENT_MARGIN = 0.01
# Share of its variance that pending answers leave to a query, at least, in units of the largest.
LEFT_TO_LEARN = {"value": 2.0 / 3.0, "information": 0.5}
# Share of the noise of a pending answer that counts for this: batches hardly need repeats.
PENDING_NOISE = {"value": 0.25, "information": 1.0}
# Quantiles at which a Gumbel distribution is fitted to the distribution of the maximum (D-C4).
GUMBEL_PROBABILITIES = (0.25, 0.5, 0.75)
# Deviations above its leave-one-out prediction for which an indirect query is repeated (D-G8).
SURPRISING = 2.0
# Largest number of answers to a query that is repeated for this reason (D-G8).
MOST_ANSWERS = 4

# Distance of the reference point of a volume from the front, in ranges of the front.
REFERENCE_MARGIN = 1.0

# -- evaluations that fail --------------------------------------------------------------------

# Number of failures at the start of run() after which it raises: queries are not the cause.
MOST_FAILURES = 10
# Probability of success from which on a query has no discount, if the last ones succeeded (D-H65).
LIKELY = 0.75
# This probability if the last ones all failed; also the least one of a recommendation (D-H65).
SURE = 0.95
# Number of these last evaluations (D-H65).
LATELY = 10
# Queries with less than this share of the overall rate of success are avoided (D-H65).
HOPELESS = 0.5
# Number of points, besides the candidates, at which a round searches within the limits.
N_PROBES_OF_LIMITS = 1000
# Queries with a smaller probability of satisfying the limits are avoided.
HOPELESS_OF_LIMITS = 0.005
# Prior odds of the roughest smoothness of a limited outcome, with the learned length scales.
ROUGH_OUTCOME_ODDS = 8.0
# Power of the odds that an outcome is yes or no as demanded, in the value of a query.
YES_OR_NO_POWER = 3.0
# Length scales to try for the probability of success, in units of the model of f (D-H65).
SUCCESS_LENGTH_SCALES = (1.0 / 3.0, 1.0, 3.0)
# Shares to try of the variance of successes that depends on the setting (D-H65).
SUCCESS_SHARES = (0.3, 0.7, 0.97)
# Nats by which a model of success must predict better than the constant rate (D-H65).
SUCCESS_EVIDENCE = 4.0

# -- priors -----------------------------------------------------------------------------------

# Median of length scales, which grows with sqrt(d) (D-H3).
LENGTH_SCALE = 0.15
# Standard deviation of the logarithm of a length scale.
LENGTH_SPREAD = 0.6
# Bounds of length scales.
LENGTH_LIMITS = (0.02, 50.0)
# Standard deviation of the logarithm of the variance of f.
AMPLITUDE_SPREAD = 1.0
# Bounds of the variance of f, and of main effects in units of all together.
AMPLITUDE_LIMITS = (0.02, 1e3)
# Variance of the effects of single sides, in units of all together (D-H48).
MAIN_EFFECTS = 0.5
# Standard deviation of the logarithm of the variance of a part of f (D-H25, D-H28, D-H48).
PART_SPREAD = 1.5
# Median of the noise variance, also of an earlier campaign in units of the present answers.
NOISE = 0.05
# Standard deviation of the logarithm of the noise variance.
NOISE_SPREAD = 1.5
# Bounds of the noise variance.
NOISE_LIMITS = (1e-6, 3.0)
# Length scale of f if all queries are indirect (D-H47).
SMOOTH_LENGTH_SCALE = 0.2
# Standard deviation of the logarithm of this length scale (D-H47).
SMOOTH_LENGTH_SPREAD = 0.75
# Bounds of this length scale (D-H47).
SMOOTH_LENGTH_LIMITS = (1 / 15, 2.0)
# Standard deviation of the logarithm of the variance of f if all queries are indirect (D-H47).
SMOOTH_AMPLITUDE_SPREAD = 2.0
# Standard deviation of the logarithm of length scales of lists and integers (D-H49).
SETTINGS_LENGTH_SPREAD = 0.8
# Length scale of lists beside main effects, for one side; it grows with sqrt(d) (D-H49).
LIST_LENGTH_SCALE = 0.5
# Length scale of ordered sides beside main effects, for one side (D-H49).
ORDERED_LENGTH_SCALE = 0.3
# Variance of main effects over settings, in units of the other part (D-H49).
SETTINGS_MAIN_EFFECTS = 2.0
# Variance of averages over cells of the target sizes by the trend (D-H31).
TREND_LEVEL = 0.5
# Variance of these averages by the rough part, which varies at most as much as the trend (D-H31).
ROUGH_LEVEL = 0.1
# Power of d with which length scales of the trend grow, smaller than that of points (D-H25).
TREND_GROWTH = 0.25
# Length scales of the rough part in units of the trend, for d = 1; they grow with sqrt(d) (D-H25).
ROUGH_LENGTH = 0.25
# Bounds of the variance of the rough part, in units of its median (D-H25).
ROUGH_LIMITS = (1e-3, 100.0)
# Standard deviation of the logarithm of its length scales (D-H25).
ROUGH_LENGTH_SPREAD = 0.5
# Variance of a task's own part, of a total of 1, if kappa is not given.
TASK_OWN = 0.1
# Standard deviation of the weights of fidelities (D-H28).
TASK_WEIGHT_SPREAD = 0.5
# Variance of the rough difference of a low fidelity (D-H28).
TASK_ROUGH = 0.1
# Variance of the slow difference of a low fidelity (D-H28).
TASK_SLOW = 1.0
# Variance of both differences at the highest fidelity (D-H28).
TASK_LEAST = 1e-3
# Length scale of slow differences and of the trend, in units of sqrt(d) sides (D-H28).
TASK_SLOW_LENGTH_SCALE = 2.0
# Standard deviation of the weights of the trend (D-H28).
TASK_TREND_SPREAD = 1.0
# Median of the noise variance of several functions: low fidelities are often computed (D-H28).
TASK_NOISE = 0.01
# Standard deviation of the logarithm of this noise variance (D-H28).
TASK_NOISE_SPREAD = 2.0
# Degrees of freedom of the prior that half of the variance is noise (D-H44).
SHRINKAGE_BELIEF = 2.0
# Least variance between queries in shrunken means, in units of the answers (D-H44).
SHRINKAGE_LEAST = 0.05

# -- learning ---------------------------------------------------------------------------------

# Least number of answers to learn hyperparameters.
FIRST_LEARNING = 4
# Factor of the number of answers from one refit to the next (D-H11).
RELEARN_GROWTH = {"growing": 1.25, "doubling": 2.0}
# Queries in the subsample that tries further starts, if there are more than twice as many (D-H20).
N_TRIED = 200
# Largest number of queries behind hyperparameters if most answers came together (D-H11).
MOST_LEARNED = 1000
# Number of answers in one call of ``tell`` from which on they change the model together (D-H11).
TOGETHER_FROM = 100
# Total number of points of averages over pools, which are thinned for refits only.
N_THINNED = 500
# Number of length scales of optimizer="consistent", each smaller by a factor of sqrt(2) (D-G11).
N_LENGTH_SCALES = 11
# Number of pairs for the selection of the operator's length scales (D-C5).
SELECTION_PAIRS = 300
# Initial value in the search for the regularisation of the operator (D-C5).
REGULARIZATION = 1e-3
# Bounds of the regularisation (D-C5).
REGULARIZATION_LIMITS = (1e-9, 10.0)
# Bounds of the operator's length scales, in standard deviations of a column (D-C5).
OPERATOR_LENGTH_LIMITS = (1e-2, 1e2)
# Least number of points on a face of their box that count as clipped.
PILED_UP = 3
# Least share of all points that counts as clipped.
PILED_UP_SHARE = 0.005
# Number of queries at which the error of a learned window is estimated (D-C5).
N_WINDOW_PROBES = 16

# -- diagnosis --------------------------------------------------------------------------------

# Probability of reporting that a correct model is contradicted, over all checks of a run (D-H44).
RISK = 1e-3
# Distinct queries before the first check of given hyperparameters (D-H44).
FIRST_CHECK_GIVEN = 3
# Distinct queries before the first check of learned hyperparameters (D-H44).
FIRST_CHECK_LEARNED = 10
# Number of the last distinct queries that are checked (D-H44).
N_CHECKED = 500
# p-value of the replicates' agreement below which noise may be lack of fit (D-H44).
LACK_OF_FIT = 0.01
# Odds against less noise at the replicated queries for a report of lack of fit (D-H44).
ODDS_OF_ROUGHNESS = 100.0
# Number of answers after which the best query is replicated, to test for exact answers (D-H44).
REPEATS_BEST_FROM = 16
# Probability of equal replicates under noise, below which answers count as exact (D-H59).
CHANCE_OF_AGREEMENT = 0.01
# Smoothnesses of the kernels that are compared for exact answers, and averaged for Stop (D-H44).
SMOOTHNESS = (0.5, 1.5, 2.5)
# Least error of an outlier, in deviations of a model that was learned without it (D-H44).
OUTLIER_Z = 6.0
# Least error of an outlier, in deviations of all other answers: a kink is no outlier (D-H44).
OUTLIER_SPREAD = 2.0
# Distance of an answer below all others, in units of their range, that suggests a penalty (D-H97).
PENALTY = 1000
# Number of answers before the first check for penalties (D-H97).
FIRST_CHECK_OF_PENALTIES = 6
# Largest number of outliers that one refit finds (D-H44).
MAX_OUTLIERS_AT_ONCE = 4

# -- when to stop -----------------------------------------------------------------------------

# Probability that the gap is larger than its bound, if the user names none.
GAP_DELTA = 0.05
# Prior deviation of f for a gap between cells of given sizes, as a multiple of the learned one.
GAP_DEVIATION = 1.5
# Share of the regions of a level that must have been asked for a gap between regions so small.
ASKED_SHARE = 0.75
# Factor of the number of answers from one check of Stop to the next.
STOP_GROWTH = 1.1
# Number of answers before the first check of learned models, in up to two dimensions (D-G12).
FIRST_STOP = 30
# Share of delta for the posterior; the rest is for the error of its Monte Carlo estimate.
POSTERIOR_SHARE = 0.8
# Prior weight of the roughest smoothness; the others have 1 (D-H44).
ROUGHEST_WEIGHT = 2.0
# Least median of the standard deviation of f, in units of the epsilon of Stop (D-H44).
LEAST_DEVIATION = 2.0
# Standard deviation of the logarithm of the variance of f for Stop (D-H44).
STOP_AMPLITUDE_SPREAD = 0.5
# Smoothnesses and length scales with less than this share of the weight are left out (D-H44).
NEGLIGIBLE_WEIGHT = 0.01
# Approximate number of models that represent all models compatible with the answers.
N_MODELS = 16
# Largest number of distinct queries up to which predictions average over these models.
MOST_AVERAGED = 400
# Variance of the level of f in these models, in that of f around it: answers of a search are high.
READ_LEVEL = 1.0
# Median of the noise variance of these models, in units of that of the most probable model (D-H71).
READ_NOISE = 12.0
# Standard deviation of the logarithm of this noise variance.
READ_NOISE_SPREAD = 1.5
# Median of the variance of f in the models of averages, in units of that of the prior (D-H71).
READ_VARIANCE = 6.0

# -- earlier campaigns ------------------------------------------------------------------------

# Prior weights of the correlations of a campaign with an earlier one; 0 stands for all of them.
CORRELATIONS = {
    -0.95: 0.04,
    -0.6: 0.04,
    0.0: 0.5,
    0.4: 0.06,
    0.7: 0.1,
    0.9: 0.1,
    0.97: 0.08,
    1.0: 0.08,
}
# Probability that a campaign is like no earlier one above which the earlier ones do not count.
CAMPAIGNS_OFF = 0.7
# Probability below which they count again.
CAMPAIGNS_BACK = 0.1
# While they count, one in this number of queries is of the first design, from the second on.
CAMPAIGN_DESIGN_ROUND = 4
# Largest number of answers with which earlier campaigns count.
MOST_WITH_CAMPAIGNS = 60
# Largest number of answers of an earlier campaign that are used, evenly spread in their order.
MOST_OF_CAMPAIGN = 200
# Largest number of kernels for an earlier campaign.
CAMPAIGN_SHAPES = 6
# Standard deviation of the logarithm of the variance of f, in units of the present answers.
CAMPAIGN_AMPLITUDE_SPREAD = 2.0

# -- tuning of hyperparameters ----------------------------------------------------------------

# Least noise of a score, in units of the standard deviation of all scores.
SCORE_LEAST_NOISE = 1e-2
# Number of settings from which on the common part of folds is estimated.
FOLDS_FROM = 3
# Degrees of freedom of the better settings' variance beside that of a setting's folds (D-H14).
FOLDS_FREEDOM = 4
# Least distance of a failure below the worst score, as a share of the largest score.
SCORE_FAILURE = 0.01
# Least number of settings in the first design, if n_iter is three times as large.
SCORE_INITIAL = 5
# Scores are not warped down to this multiple of the distance from the best to the median below it.
SCORE_STRAIGHT = 2.0
# Number of scores between two refits of the default engine.
SCORE_RELEARN = 3
