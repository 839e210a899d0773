"""The validators that run only when they are asked for (R-CAT-240 … R-CAT-270)."""
