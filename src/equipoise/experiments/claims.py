"""The ledger of claims."""

from equipoise.experiments.claim import Claim
from equipoise.experiments.holdem_claims import HOLDEM_CLAIMS
from equipoise.experiments.neural_claims import NEURAL_CLAIMS
from equipoise.experiments.tabular_claims import TABULAR_CLAIMS

CLAIMS: dict[str, Claim] = {claim.id: claim for claim in (*TABULAR_CLAIMS, *HOLDEM_CLAIMS, *NEURAL_CLAIMS)}
