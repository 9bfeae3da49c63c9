"""Programs as users of JAX write them, translated: functions without annotations but for what is no tensor, gradients of
them, batches of those. What each is in JAX is in `in_jax`, under the same name.
"""

from benchmarks.programs.jax_users import filters, learning, models, physics, rules, second_order
from benchmarks.programs.jax_users.examples import EXAMPLES, Example
