"""ER²Score: a reward model with one reward per criterion, trained by a margin ranking loss."""
