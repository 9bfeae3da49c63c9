"""Training programs as PyTorch's users write them: `torch` is one library or the other.

Each appends to `losses`. `init(model)` fills parameters with the same numbers in both; `X`, `Y` (regression), `C`
(classes) and `S` (sequences of numbers) are data. Everything is float64.
"""

from __future__ import annotations

PREAMBLE = """
nn, F, optim = torch.nn, torch.nn.functional, torch.optim
lr_scheduler, utils = optim.lr_scheduler, torch.nn.utils
def mlp(*sizes, act=nn.Tanh):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return init(nn.Sequential(*layers[:-1]))
def step(model, optimizer, loss):
    optimizer.zero_grad(); loss.backward(); optimizer.step(); losses.append(loss.item())
"""

PROGRAMS: dict[str, str] = {
    "plain descent": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "momentum and weight decay": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-2, nesterov=True)
for epoch in range(10):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "adam on classes": """
model = mlp(4, 16, 3, act=nn.ReLU)
optimizer = optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(10):
    step(model, optimizer, criterion(model(X), C))
""",
    "freezing the first layer": """
model = mlp(4, 8, 8, 1)
for p in model[0].parameters():
    p.requires_grad = False
optimizer = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01)
for epoch in range(5):
    step(model, optimizer, F.mse_loss(model(X), Y))
model[0].requires_grad_(True)
optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.001})
for epoch in range(5):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "gradient accumulation": """
model = mlp(4, 8, 1)
optimizer = optim.AdamW(model.parameters(), lr=0.01)
optimizer.zero_grad()
for i, (x, y) in enumerate(zip(X.split(4), Y.split(4))):
    loss = F.mse_loss(model(x), y) / 2
    loss.backward()
    losses.append(loss.item())
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
    "exponential average by hand": """
import copy
model = mlp(4, 8, 1)
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y))
    with torch.no_grad():
        for p, q in zip(ema.parameters(), model.parameters()):
            p.mul_(0.9).add_(q, alpha=0.1)
    losses.append(F.mse_loss(ema(X), Y).item())
""",
    "averaged model and its rates": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
swa = optim.swa_utils.AveragedModel(model)
scheduler = optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y))
    swa.update_parameters(model)
    scheduler.step()
losses.append(F.mse_loss(swa(X), Y).item())
""",
    "two losses mixed": """
body, head, other = mlp(4, 8), mlp(8, 1), mlp(8, 3)
optimizer = optim.Adam([*body.parameters(), *head.parameters(), *other.parameters()], lr=0.02)
for epoch in range(8):
    h = torch.tanh(body(X))
    loss = F.smooth_l1_loss(head(h), Y) + 0.3 * F.cross_entropy(other(h), C) + 1e-3 * sum(p.abs().sum() for p in body.parameters())
    step(body, optimizer, loss)
""",
    "weight decay by groups": """
model = init(nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1)))
decay = [p for n, p in model.named_parameters() if p.ndim > 1]
plain = [p for n, p in model.named_parameters() if p.ndim <= 1]
optimizer = optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=0.01)
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "early stopping": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.5)
best, bad, kept = float("inf"), 0, None
for epoch in range(40):
    step(model, optimizer, F.mse_loss(model(X[:20]), Y[:20]))
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(X[20:]), Y[20:]).item()
    model.train()
    if val < best - 1e-3:
        best, bad, kept = val, 0, {k: v.clone() for k, v in model.state_dict().items()}
    else:
        bad += 1
        if bad > 3:
            break
model.load_state_dict(kept)
losses += [best, epoch, F.mse_loss(model(X), Y).item()]
""",
    "saving and resuming": """
import io
def fresh():
    model = mlp(4, 8, 1)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    return model, optimizer, lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
model, optimizer, scheduler = fresh()
for epoch in range(4):
    step(model, optimizer, F.mse_loss(model(X), Y)); scheduler.step()
file = io.BytesIO()
torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, file)
model, optimizer, scheduler = fresh()
checkpoint = torch.load(io.BytesIO(file.getvalue()))
model.load_state_dict(checkpoint["model"]); optimizer.load_state_dict(checkpoint["optimizer"]); scheduler.load_state_dict(checkpoint["scheduler"])
for epoch in range(checkpoint["epoch"] + 1, 8):
    step(model, optimizer, F.mse_loss(model(X), Y)); scheduler.step()
""",
    "a scripted module": """
model = torch.jit.script(mlp(4, 8, 1))
optimizer = optim.Adam(model.parameters(), lr=0.02)
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "a scripted loss": """
@torch.jit.script
def huber(a, b, width: float):
    e = (a - b).abs()
    return torch.where(e < width, 0.5 * e * e / width, e - 0.5 * width).mean()
model = mlp(4, 8, 1)
optimizer = optim.RMSprop(model.parameters(), lr=0.01, momentum=0.5, centered=True)
for epoch in range(8):
    step(model, optimizer, huber(model(X), Y, 0.3))
""",
    "clipping by norm": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.5)
for epoch in range(8):
    optimizer.zero_grad()
    loss = 10 * F.mse_loss(model(X), Y)
    loss.backward()
    losses.append(utils.clip_grad_norm_(model.parameters(), 0.5).item())
    optimizer.step()
    losses.append(loss.item())
""",
    "clipping by value and hooks": """
model = mlp(4, 8, 1)
for p in model.parameters():
    p.register_hook(lambda g: g.clamp(-0.05, 0.05))
optimizer = optim.Adagrad(model.parameters(), lr=0.1)
for epoch in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(X), Y)
    loss.backward()
    utils.clip_grad_value_(model.parameters(), 0.02)
    optimizer.step()
    losses.append(loss.item())
""",
    "plateau": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=1.0)
scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.05)
for epoch in range(12):
    loss = F.mse_loss(model(X), Y)
    step(model, optimizer, loss)
    scheduler.step(loss)
    losses.append(optimizer.param_groups[0]["lr"])
""",
    "one cycle by batches": """
model = mlp(4, 8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=8)
scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.3, epochs=3, steps_per_epoch=len(loader))
for epoch in range(3):
    for x, y in loader:
        step(model, optimizer, F.mse_loss(model(x), y)); scheduler.step()
""",
    "warm-up, then cosine": """
model = mlp(4, 8, 1)
optimizer = optim.AdamW(model.parameters(), lr=0.05)
warm = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
cool = lr_scheduler.CosineAnnealingLR(optimizer, T_max=7)
scheduler = lr_scheduler.SequentialLR(optimizer, schedulers=[warm, cool], milestones=[3])
for epoch in range(10):
    step(model, optimizer, F.mse_loss(model(X), Y)); scheduler.step()
    losses.append(scheduler.get_last_lr()[0])
""",
    "lambda rates for groups": """
model = mlp(4, 8, 1)
optimizer = optim.SGD([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.2}], lr=0.1)
scheduler = lr_scheduler.LambdaLR(optimizer, [lambda e: 0.9 ** e, lambda e: 1 / (1 + e)])
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y)); scheduler.step()
""",
    "lbfgs": """
model = mlp(4, 6, 1)
optimizer = optim.LBFGS(model.parameters(), lr=0.5, max_iter=6, line_search_fn="strong_wolfe")
def closure():
    optimizer.zero_grad()
    loss = F.mse_loss(model(X), Y)
    loss.backward()
    return loss
for epoch in range(3):
    losses.append(optimizer.step(closure).item())
""",
    "batch normalisation, training and evaluation": """
model = init(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)))
optimizer = optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    model.train()
    for x, y in zip(X.chunk(4), Y.chunk(4)):
        step(model, optimizer, F.mse_loss(model(x), y))
    model.eval()
    with torch.no_grad():
        losses.append(F.mse_loss(model(X), Y).item())
""",
    "a convolutional network": """
model = init(nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)))
images = torch.cat([X, X, X, X], 1).reshape(-1, 1, 4, 4)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(6):
    step(model, optimizer, F.cross_entropy(model(images), C))
""",
    "a recurrent network": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 5)
        self.rnn = nn.LSTM(5, 6, batch_first=True)
        self.out = nn.Linear(6, 7)
    def forward(self, s):
        h, _ = self.rnn(self.embed(s))
        return self.out(h)
model = init(Net())
optimizer = optim.Adam(model.parameters(), lr=0.05)
for epoch in range(5):
    step(model, optimizer, F.cross_entropy(model(S[:, :-1]).flatten(0, 1), S[:, 1:].flatten()))
""",
    "truncated backpropagation": """
rnn, out = init(nn.GRU(1, 6)), init(nn.Linear(6, 1))
optimizer = optim.SGD([*rnn.parameters(), *out.parameters()], lr=0.1)
h = torch.zeros(1, 4, 6)
for part in X.unsqueeze(2).split(4):
    y, h = rnn(part, h.detach())
    step(rnn, optimizer, F.mse_loss(out(y)[:-1], part[1:]))
""",
    "attention": """
layer = init(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True))
embed, out = init(nn.Embedding(7, 8)), init(nn.Linear(8, 7))
optimizer = optim.AdamW([*layer.parameters(), *embed.parameters(), *out.parameters()], lr=0.01)
mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
for epoch in range(5):
    scores = out(layer(embed(S[:, :-1]), src_mask=mask))
    step(layer, optimizer, F.cross_entropy(scores.transpose(1, 2), S[:, 1:]))
""",
    "shared weights": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 6)
        self.mid = nn.Linear(6, 6)
        self.out = nn.Linear(6, 7, bias=False)
        self.out.weight = self.embed.weight
    def forward(self, s):
        return self.out(torch.tanh(self.mid(self.embed(s))))
model = init(Net())
optimizer = optim.NAdam(model.parameters(), lr=0.02)
for epoch in range(6):
    step(model, optimizer, F.cross_entropy(model(S[:, :-1]).flatten(0, 1), S[:, 1:].flatten()))
""",
    "an adversary": """
g, d = mlp(4, 8, 4), mlp(4, 8, 1)
og, od = optim.Adam(g.parameters(), lr=0.01, betas=(0.5, 0.999)), optim.Adam(d.parameters(), lr=0.01, betas=(0.5, 0.999))
bce, real, fake = nn.BCEWithLogitsLoss(), torch.ones(len(X), 1), torch.zeros(len(X), 1)
noise = torch.sin(X * 3)
for epoch in range(5):
    od.zero_grad()
    loss_d = bce(d(X), real) + bce(d(g(noise).detach()), fake)
    loss_d.backward(); od.step()
    og.zero_grad()
    loss_g = bce(d(g(noise)), real)
    loss_g.backward(); og.step()
    losses += [loss_d.item(), loss_g.item()]
""",
    "a penalty on gradients": """
model = mlp(4, 8, 1)
optimizer = optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    x = X.clone().requires_grad_()
    y = model(x)
    (gx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    step(model, optimizer, F.mse_loss(y, Y) + 0.1 * ((gx.norm(2, dim=1) - 1) ** 2).mean())
""",
    "an inner step differentiated": """
w = torch.tensor([[0.1], [0.2], [-0.3], [0.4]], requires_grad=True)
outer = optim.SGD([w], lr=0.1)
for epoch in range(5):
    inner = F.mse_loss(X[:10] @ w, Y[:10])
    (g,) = torch.autograd.grad(inner, w, create_graph=True)
    loss = F.mse_loss(X[10:] @ (w - 0.1 * g), Y[10:])
    outer.zero_grad(); loss.backward(); outer.step(); losses.append(loss.item())
""",
    "losses of many kinds": """
model = mlp(4, 8, 3)
optimizer = optim.Adamax(model.parameters(), lr=0.02)
onehot = F.one_hot(C, 3).to(torch.float64)
kinds = [nn.NLLLoss(), nn.MultiMarginLoss(), nn.KLDivLoss(reduction="batchmean"), nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0])), nn.MSELoss(), nn.HuberLoss(delta=0.2), nn.SoftMarginLoss()]
for criterion in kinds:
    scores = model(X)
    name = type(criterion).__name__
    if name == "NLLLoss": loss = criterion(F.log_softmax(scores, 1), C)
    elif name == "MultiMarginLoss": loss = criterion(scores, C)
    elif name == "KLDivLoss": loss = criterion(F.log_softmax(scores, 1), onehot)
    elif name == "SoftMarginLoss": loss = criterion(scores, 2 * onehot - 1)
    else: loss = criterion(scores, onehot)
    step(model, optimizer, loss)
""",
    "weights of classes, ignored ones": """
model = mlp(4, 8, 3)
optimizer = optim.Adadelta(model.parameters())
target = C.clone()
target[::3] = -100
for epoch in range(6):
    step(model, optimizer, F.cross_entropy(model(X), target, weight=torch.tensor([1.0, 2.0, 0.5]), ignore_index=-100))
""",
    "triplets": """
model = mlp(4, 8, 2)
optimizer = optim.RAdam(model.parameters(), lr=0.05)
for epoch in range(7):
    a, p, n = model(X[:9]), model(X[9:18]), model(X[18:27])
    step(model, optimizer, F.triplet_margin_loss(a, p, n) + F.cosine_embedding_loss(a, p, torch.ones(9)))
""",
    "norms of weights": """
model = init(nn.Sequential(utils.weight_norm(nn.Linear(4, 8)), nn.Tanh(), nn.Linear(8, 1)))
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    step(model, optimizer, F.mse_loss(model(X), Y))
""",
    "a parameter of one's own": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.register_buffer("seen", torch.zeros(8))
    def forward(self, x):
        if self.training:
            self.seen.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return (x - self.seen) * self.scale
model = init(nn.Sequential(nn.Linear(4, 8), Scale(), nn.Tanh(), nn.Linear(8, 1)))
optimizer = optim.Rprop(model.parameters(), lr=0.01)
for epoch in range(8):
    step(model, optimizer, F.mse_loss(model(X), Y))
losses += model[1].seen.tolist()
""",
    "hooks of modules": """
model = mlp(4, 8, 1)
seen = []
handle = model[1].register_forward_hook(lambda m, i, o: seen.append(o.abs().mean().item()))
optimizer = optim.SGD(model.parameters(), lr=0.1)
optimizer.register_step_post_hook(lambda o, a, k: seen.append(sum(p.grad.abs().sum().item() for p in model.parameters())))
for epoch in range(4):
    step(model, optimizer, F.mse_loss(model(X), Y))
handle.remove()
step(model, optimizer, F.mse_loss(model(X), Y))
losses += seen
""",
    "a reward": """
policy = mlp(4, 8, 3)
optimizer = optim.Adam(policy.parameters(), lr=0.02)
for epoch in range(6):
    logs = F.log_softmax(policy(X), 1)
    taken = logs.gather(1, C.unsqueeze(1)).squeeze(1)
    entropy = -(logs.exp() * logs).sum(1).mean()
    step(policy, optimizer, -(taken * Y[:, 0]).mean() - 0.01 * entropy)
""",
    "an autoencoder with noise": """
enc, dec = mlp(4, 6, 4), mlp(2, 6, 4)
noise = torch.cos(7 * X[:, :2])
optimizer = optim.ASGD([*enc.parameters(), *dec.parameters()], lr=0.05, t0=2)
for epoch in range(6):
    mean, logvar = enc(X).chunk(2, dim=1)
    z = mean + torch.exp(0.5 * logvar) * noise
    kl = -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).sum(1).mean()
    step(enc, optimizer, F.mse_loss(dec(z), X) + 0.1 * kl)
""",
    "parameters as a vector": """
model = mlp(4, 6, 1)
vector = utils.parameters_to_vector(model.parameters()).detach()
for epoch in range(5):
    utils.vector_to_parameters(vector, model.parameters())
    model.zero_grad()
    loss = F.mse_loss(model(X), Y)
    loss.backward()
    gradient = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    vector = vector - 0.1 * gradient
    losses += [loss.item(), utils.get_total_norm([p.grad for p in model.parameters()]).item()]
""",
    "updates without an optimiser": """
w, b = torch.zeros(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
for epoch in range(8):
    loss = ((X @ w + b - Y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_(); b.grad = None
    losses.append(loss.item())
""",
    "half of the layers at another rate, with a decayed momentum": """
model = mlp(4, 8, 8, 1)
groups = [{"params": m.parameters(), "lr": 0.1 * 0.5 ** k} for k, m in enumerate(reversed([m for m in model if isinstance(m, nn.Linear)]))]
optimizer = optim.SGD(groups, momentum=0.9)
scheduler = lr_scheduler.MultiStepLR(optimizer, [3, 6], gamma=0.3)
for epoch in range(9):
    step(model, optimizer, F.mse_loss(model(X), Y)); scheduler.step()
    for group in optimizer.param_groups:
        group["momentum"] = max(0.5, group["momentum"] * 0.95)
""",
}  # fmt: skip
