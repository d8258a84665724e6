"""The file of a study: what is searched, how, and what tells a good trial.

```yaml
study: margin                             # its name in the storage; its folder is runs/margin
base: experiments/studies/small.yaml      # a configuration of `fit`; --base puts another in its place
sampler: tpe                              # tpe, random, or grid: all combinations, in the order of the file
trials: 20                                # in total, over all workers and all starts; not with grid
seed: 0                                   # of the sampler
metric: val_tau                           # what a module logs at validations
direction: maximize                       # or minimize
prune: true                               # stop trials that are worse than the median of the others
overrides: {trainer.max_steps: 60}        # settings of every trial, by dotted key
space:                                    # see `radreward.tuning.space`
  model.objective.lambda_: {low: 0.1, high: 3.0, log: true}
```

A trial is what `radreward fit` does with the base, the overrides and what the sampler chose, kept in the folder
`trials/<number>` of the study. Only `study`, `base` and `space` have no default.
"""
