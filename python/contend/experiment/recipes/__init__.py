"""Built-in experiment files: question, factors, published figures; and the scripts that
they name. Data only."""
