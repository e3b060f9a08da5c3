"""Every number that decides what is asked and what is said, if a parameter does not.

Parameters have their defaults in their signatures. A number here may be another one without being
wrong: it was measured, or is a guess that nothing contradicted, and the line above it says what
it does, with the number of its decision in ``doc/development/decisions`` where it has one.
``python -m benchmarks.ablate NAME`` shows what it is worth. It is read where it is used, as
``defaults.NAME``, and never copied at import, so that a benchmark can set another value.

Numbers that change no query stand where they are used, and say there what kind they are: rounding,
accuracy, memory, limits, formats, mathematics. Spaces that are searched are measured in sides,
answers in their standard deviation, variances in their variance, unless a line says otherwise.
"""

from __future__ import annotations

# -- the first queries ------------------------------------------------------------------------

# Distinct queries that are asked first where the kernel is not given (D-G6).
N_INITIAL = 10
# Largest distance of neighbours in a first design on the line, in deviations of the blur (D-G8).
BLUR_SPACING = 2.0
# Most first queries for the sake of that distance (D-G8).
MOST_INITIAL = 25
# Settings from which the first design of a constrained box is chosen (D-H50).
N_DESIGN_POOL = 1024

# -- which queries are compared ---------------------------------------------------------------

# Most dimensions in which candidates fill the box; in more all follow the posterior (D-D10).
GRID_DIMENSIONS = 3
# Most points of such a grid along a side.
GRID_PER_AXIS = 200
# One in this number of candidates follows the posterior where the others fill the box (D-D10).
LOCAL_SHARE = 4
# The same where sides have separate values (D-H49).
LOCAL_SHARE_OF_SETTINGS = 2
# Number of the best points, cells or trials that candidates follow (D-H31).
N_CENTERS = 5
# Candidates lie 10^-u sides from the point that they follow; the largest u (D-D10).
LOCAL_NEAREST = 3.5
# The smallest u.
LOCAL_FARTHEST = 0.5
# Vertices of a constrained box are candidates if there are at most so many (D-H40).
MOST_VERTICES = 64
# Best candidates, apart from each other, from which a box is searched (D-H23).
N_STARTS = 4
# Least distance of these starts along some side (D-H23).
START_DISTANCE = 0.1
# Moves of candidates in a round that keeps nothing from the one before.
N_FOLLOWING_STEPS = 3
# Multiplications that moving candidates may take in a round: about a millisecond (D-D10).
MOST_MULTIPLICATIONS = 2**24
# Candidate cells that move in a round (D-H31).
N_MOVED_CELLS = 16
# Standard deviations that are added to a mean to decide which targets may be the best (D-H31).
FOLLOWED_OPTIMISM = 2.0
# Points of an own search over a cube of Optuna's parameters that fill it.
OPTUNA_EVERYWHERE = 400
# Points around the best trials there.
OPTUNA_NEAR = 200
# Values on a decade of a logarithmic side with steps, each of three significant digits.
STEPS_PER_DECADE = 200
# Infinite ends of a distribution are cut off at this quantile.
DISTRIBUTION_TAIL = 1.0 / 1024

# -- cells and trees --------------------------------------------------------------------------

# Points that represent a cell, along a side (D-A1).
CELL_POINTS_PER_AXIS = 10
# Most points that represent a cell (D-A1).
CELL_POINTS = 100
# Most members that represent a cell of a pool (D-A1).
POOL_CELL_POINTS = 32
# Cuts along every side from which on cells are not split (D-A3).
CUTS_PER_AXIS = 10
# C2 and C3 of Claim 2, which the paper does not give (D-B3).
CLAIM2_CONSTANTS = (1.0, 1.0)
# Deviations from which on members of a cell count as better than its middle.
Z_SIGNIFICANT = 2.0
# Most cells that are split after one answer (D-A12).
SPLITS_PER_ROUND = 256
# Leaves from which on GPOO splits only those that may be the best (D-A12).
MANY_LEAVES = 3072
# Points along each side by which cells of one size are compared.
N_FEW_POINTS = 4

# -- exploration ------------------------------------------------------------------------------

# beta of GP-UCB for each regret that is to be small, without a horizon (D-D9).
BETA = {"cumulative": 2.0, "simple": 4.0}
# Square root of beta in the first round of a horizon, from which it falls to 0 (D-D9).
FIRST_ROOT_OF_BETA = {"cumulative": 3.0, "simple": 4.0}
# Last share of a horizon that follows the knowledge gradient, for a small simple regret (D-D9).
KNOWLEDGE_GRADIENT_SHARE = 0.2
# beta where sides have separate values, as a multiple of that of numbers (D-H49).
SETTINGS_BETA_FACTOR = 3.0
# Numbers in a box from which on beta is larger, for simple regret without a horizon (D-D9).
MANY_SIDES = 8
# beta there, as a multiple of that in boxes of fewer sides (D-D9).
MANY_SIDES_BETA_FACTOR = 2.25
# Share of a range below which a deviation, or an error, counts as none (D-H40, D-H44).
NEGLIGIBLE = 1e-3
# By the number of sides: one query in so many is far from all, for simple regret (D-D9).
EXPLORATION_PERIOD = {1: 3, 2: 5}
# Improvement that the probability of improvement asks for, of indirect queries.
IMPROVEMENT_MARGIN = 0.01
# Probabilities at which a Gumbel law meets the distribution of the maximum (D-C4).
GUMBEL_PROBABILITIES = (0.25, 0.5, 0.75)
# An indirect answer surprises from so many deviations above its prediction by others (D-G8).
SURPRISING = 2.0
# Times that a query with surprising answers is asked in all (D-G8).
MOST_ANSWERS = 4

# -- evaluations that fail --------------------------------------------------------------------

# First evaluations of run() that fail, so many in a row, end it: the queries are not the cause.
MOST_FAILURES = 10
# Chance of success from which on a query is asked as if it were certain to succeed (D-H65).
LIKELY = 0.75
# The same where all of the last failed, and that of a recommendation, limits included (D-H65).
SURE = 0.95
# Number of these last evaluations (D-H65).
LATELY = 10
# Share of the rate of success below which a chance is hopeless while others are left (D-H65).
HOPELESS = 0.5
# Points besides the candidates at which better ones within the limits are looked for in a round.
N_PROBES_OF_LIMITS = 1000
# Probability of keeping them below which nothing is asked while others are left.
HOPELESS_OF_LIMITS = 0.005
# Length scales of the chance of success that are compared, in those of the model of f (D-H65).
SUCCESS_LENGTH_SCALES = (1.0 / 3.0, 1.0, 3.0)
# Shares of the variance of outcomes that depend on where they were, which are compared (D-H65).
SUCCESS_SHARES = (0.3, 0.7, 0.97)
# Nats by which the model has to predict outcomes better than their rate (D-H65).
SUCCESS_EVIDENCE = 4.0

# -- priors -----------------------------------------------------------------------------------

# Median of length scales, which grows with sqrt(d) (D-H3).
LENGTH_SCALE = 0.15
# Standard deviation of the logarithm of a length scale.
LENGTH_SPREAD = 0.6
# Limits of length scales.
LENGTH_LIMITS = (0.02, 50.0)
# Standard deviation of the logarithm of the variance of f.
AMPLITUDE_SPREAD = 1.0
# Limits of the variance of f, and of main effects in that of all together.
AMPLITUDE_LIMITS = (0.02, 1e3)
# Variance of the effects of single sides, in that of all together (D-H48).
MAIN_EFFECTS = 0.5
# Standard deviation of the logarithm of the variance of a part of f (D-H25, D-H28, D-H48).
PART_SPREAD = 1.5
# Median of the noise variance.
NOISE = 0.05
# Standard deviation of its logarithm.
NOISE_SPREAD = 1.5
# Its limits.
NOISE_LIMITS = (1e-6, 3.0)
# Length scale of f where only indirect queries are answered (D-H47).
SMOOTH_LENGTH_SCALE = 0.2
# Standard deviation of its logarithm (D-H47).
SMOOTH_LENGTH_SPREAD = 0.75
# Its limits (D-H47).
SMOOTH_LENGTH_LIMITS = (1 / 15, 2.0)
# Standard deviation of the logarithm of the variance of f there (D-H47).
SMOOTH_AMPLITUDE_SPREAD = 2.0
# Standard deviation of the logarithm of the length scale of lists and whole numbers (D-H49).
SETTINGS_LENGTH_SPREAD = 0.8
# Length scale of lists, which grows with the root of their number beside main effects (D-H49).
LIST_LENGTH_SCALE = 0.5
# The same of ordered sides (D-H49).
ORDERED_LENGTH_SCALE = 0.3
# Variance of main effects over settings, in that of the other part (D-H49).
SETTINGS_MAIN_EFFECTS = 2.0
# Variance of averages over wanted cells by the trend (D-H31).
TREND_LEVEL = 0.5
# The same by the rough part, which varies at most as much as the trend (D-H31).
ROUGH_LEVEL = 0.1
# Power of d with which length scales of the trend grow: less than those of points (D-H25).
TREND_GROWTH = 0.25
# Length scales of the rough part for d = 1, in those of the trend; grows with sqrt(d) (D-H25).
ROUGH_LENGTH = 0.25
# Limits of the variance of the rough part, in its median (D-H25).
ROUGH_LIMITS = (1e-3, 100.0)
# Standard deviation of the logarithm of its length scales (D-H25).
ROUGH_LENGTH_SPREAD = 0.5
# Variance that a task has for itself where neither W nor kappa is given, of 1 in all.
TASK_OWN = 0.1
# Standard deviation of the weights of fidelities (D-H28).
TASK_WEIGHT_SPREAD = 0.5
# Variance of the rough difference of a low fidelity (D-H28).
TASK_ROUGH = 0.1
# Variance of its slow difference (D-H28).
TASK_SLOW = 1.0
# Variance that both have at the highest fidelity (D-H28).
TASK_LEAST = 1e-3
# Length scale of slow differences and of the trend, in sqrt(d) sides (D-H28).
TASK_SLOW_LENGTH_SCALE = 2.0
# Standard deviation of these weights (D-H28).
TASK_TREND_SPREAD = 1.0
# Median of the noise variance of several functions: low fidelities are often computed (D-H28).
TASK_NOISE = 0.01
# Standard deviation of its logarithm (D-H28).
TASK_NOISE_SPREAD = 2.0
# Degrees of freedom of the belief that noise is half of the variance, without repeats (D-H44).
SHRINKAGE_BELIEF = 2.0
# Least variance of values, in that of the answers (D-H44).
SHRINKAGE_LEAST = 0.05

# -- learning ---------------------------------------------------------------------------------

# Fewest answers from which hyperparameters are learned.
FIRST_LEARNING = 4
# Growth of the number of answers after which they are learned again (D-H11).
RELEARN_GROWTH = {"growing": 1.25, "doubling": 2.0}
# Twice this number of queries on, further starts are first tried on so many of them (D-H20).
N_TRIED = 200
# Points that averages over pools are thinned to, all together, for learning only.
N_THINNED = 500
# Length scales of optimizer="consistent", each smaller by a factor of sqrt(2) (D-G11).
N_LENGTH_SCALES = 11
# Pairs on which its length scales are chosen (D-C5).
SELECTION_PAIRS = 300
# Its regularisation, where the search for it starts (D-C5).
REGULARIZATION = 1e-3
# Limits of the regularisation (D-C5).
REGULARIZATION_LIMITS = (1e-9, 10.0)
# Limits of its length scales, in standard deviations of a column (D-C5).
OPERATOR_LENGTH_LIMITS = (1e-2, 1e2)
# Points on a face of their box that count as clipped from this number on.
PILED_UP = 3
# And from this share of all points on.
PILED_UP_SHARE = 0.005
# Queries at which the error of a learned window is looked at (D-C5).
N_WINDOW_PROBES = 16

# -- diagnosis --------------------------------------------------------------------------------

# Probability that a right model is reported as contradicted, over all checks of a run (D-H44).
RISK = 1e-3
# Distinct queries before the first check of given hyperparameters (D-H44).
FIRST_CHECK_GIVEN = 3
# The same of learned ones (D-H44).
FIRST_CHECK_LEARNED = 10
# Last distinct queries that are checked (D-H44).
N_CHECKED = 500
# Probability of repeats that agree as well, below which a model takes roughness for noise (D-H44).
LACK_OF_FIT = 0.01
# Odds against less noise at the repeated queries that this needs (D-H44).
ODDS_OF_ROUGHNESS = 100.0
# Answers after which the best one is asked for again, to see if answers are exact (D-H44).
REPEATS_BEST_FROM = 16
# Probability that repeated answers with noise are all equal, below which they are exact (D-H59).
CHANCE_OF_AGREEMENT = 0.01
# Smoothness of the kernels that are compared for exact answers, and averaged for Stop (D-H44).
SMOOTHNESS = (0.5, 1.5, 2.5)
# Least error of an outlier, in deviations of a model that was learned without it (D-H44).
OUTLIER_Z = 6.0
# Least error of an outlier, in deviations of all other answers: a kink is no mistake (D-H44).
OUTLIER_SPREAD = 2.0
# Times their range that an answer is below all others if it looks like a penalty (D-H97).
PENALTY = 1000
# Answers before the first such comparison (D-H97).
FIRST_CHECK_OF_PENALTIES = 6
# Outliers that are found at one time of learning, at most (D-H44).
MAX_OUTLIERS_AT_ONCE = 4

# -- when to stop -----------------------------------------------------------------------------

# Probability with which a gap may be larger than it is said to be, unless one is named.
GAP_DELTA = 0.05
# Growth of the number of answers from one check of Stop to the next.
STOP_GROWTH = 1.1
# Answers before the first check of learned models, in up to two dimensions (D-G12).
FIRST_STOP = 30
# Share of delta that the posterior may spend; the rest is for the draws that estimate it.
POSTERIOR_SHARE = 0.8
# Weight of the roughest smoothness, where the others have 1 (D-H44).
ROUGHEST_WEIGHT = 2.0
# Least median of the standard deviation of f, in the epsilon of Stop (D-H44).
LEAST_DEVIATION = 2.0
# Standard deviation of the logarithm of the variance of f there (D-H44).
STOP_AMPLITUDE_SPREAD = 0.5
# Smoothnesses and length scales with less than this share of the weight are left out (D-H44).
NEGLIGIBLE_WEIGHT = 0.01
# About so many models stand for all that fit the answers.
N_MODELS = 16
# What is read is averaged over them up to so many distinct queries.
MOST_AVERAGED = 400
# Variance of the level of f in these models, in that of f around it: answers of a search are high.
READ_LEVEL = 1.0
# Median of the noise variance of these models, in that of the model that is asked.
READ_NOISE = 6.0
# Standard deviation of its logarithm.
READ_NOISE_SPREAD = 1.5

# -- tuning of hyperparameters ----------------------------------------------------------------

# Least noise of a score, in the standard deviation of all scores.
SCORE_LEAST_NOISE = 1e-2
# Settings from which on the common part of folds is estimated.
FOLDS_FROM = 3
# Degrees of freedom of the better settings' variance beside that of a setting's folds (D-H14).
FOLDS_FREEDOM = 4
# A failure is at least this share of the largest score below the worst score.
SCORE_FAILURE = 0.01
# Settings, at least, that fill the space first, if n_iter is three times as large.
SCORE_INITIAL = 5
# Scores count as they are down to so many times the distance from the best to the median below it.
SCORE_STRAIGHT = 2.0
# Scores between two times of learning of the default engine.
SCORE_RELEARN = 3
