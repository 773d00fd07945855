"""Networks whose backward pass PyTorch records; the others write theirs out."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

# From the outputs of some rows, and which rows these are, to the gradient of the loss with respect to them.
GradientOf = Callable[[Tensor, slice], Tensor]


class RecordedNetwork(nn.Module):
    """A network with a gradient by autograd."""

    def backpropagate(self, inputs: Any, gradient_of: GradientOf) -> None:
        """Write the parameters' gradient, given that of the loss with respect to the outputs."""
        self.zero_grad(set_to_none=True)
        outputs = self(inputs)
        outputs.backward(gradient_of(outputs.detach(), slice(0, len(outputs))))
