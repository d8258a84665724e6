"""GREEN: a language model that lists errors; the score counts matched findings and significant errors."""
