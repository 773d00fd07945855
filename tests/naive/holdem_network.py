"""Deep CFR's hold'em network as its authors print it (Brown et al. 2019, Appendix C), row by row."""

import torch
from torch import nn
from torch.nn import functional


class CardEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rank = nn.Embedding(13, dim)
        self.suit = nn.Embedding(4, dim)
        self.card = nn.Embedding(52, dim)

    def forward(self, cards):
        rows, num_cards = cards.shape
        x = cards.reshape(-1)
        valid = x.ge(0).to(self.card.weight.dtype)
        x = x.clamp(min=0)
        embs = self.card(x) + self.rank(x // 4) + self.suit(x % 4)
        embs = embs * valid.unsqueeze(1)
        return embs.view(rows, num_cards, -1).sum(1)


class PrintedNetwork(nn.Module):
    def __init__(self, ncardtypes, nbets, nactions, dim):
        super().__init__()
        self.card_embeddings = nn.ModuleList([CardEmbedding(dim) for _ in range(ncardtypes)])
        self.card1 = nn.Linear(dim * ncardtypes, dim)
        self.card2 = nn.Linear(dim, dim)
        self.card3 = nn.Linear(dim, dim)
        self.bet1 = nn.Linear(nbets * 2, dim)
        self.bet2 = nn.Linear(dim, dim)
        self.comb1 = nn.Linear(2 * dim, dim)
        self.comb2 = nn.Linear(dim, dim)
        self.comb3 = nn.Linear(dim, dim)
        self.action_head = nn.Linear(dim, nactions)

    def forward(self, cards, bets):
        embedded = [embedding(group) for embedding, group in zip(self.card_embeddings, cards, strict=True)]
        x = functional.relu(self.card1(torch.cat(embedded, dim=1)))
        x = functional.relu(self.card2(x))
        x = functional.relu(self.card3(x))
        size, occurred = bets.clamp(0, 1e6), bets.ge(0).to(bets.dtype)
        y = functional.relu(self.bet1(torch.cat([size, occurred], dim=1)))
        y = functional.relu(self.bet2(y) + y)
        z = functional.relu(self.comb1(torch.cat([x, y], dim=1)))
        z = functional.relu(self.comb2(z) + z)
        z = functional.relu(self.comb3(z) + z)
        z = (z - z.mean(1, keepdim=True)) / torch.sqrt(z.var(1, keepdim=True, unbiased=False) + 1e-5)
        return self.action_head(z)


def printed_from(network):
    """Return the printed network with the parameters of ours."""
    deals, ranks, width = network.rank.shape
    assert (ranks, network.suit.shape[1]) == (13, 4)
    made = PrintedNetwork(deals, network.bet1.weight.shape[1] // 2, network.head.weight.shape[0], width)
    made = made.to(network.rank.dtype)
    names = {"comb1": "trunk1", "comb2": "trunk2", "comb3": "trunk3", "action_head": "head"}
    values = dict(network.named_parameters())
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.startswith("card_embeddings"):
                _, deal, kind, _ = name.split(".")
                parameter.copy_(values[kind][int(deal)])
            else:
                layer, kind = name.split(".")
                parameter.copy_(values[f"{names.get(layer, layer)}.{kind}"])
    return made
