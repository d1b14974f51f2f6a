"""Built-in experiment files: question, factors, published figures. Data only."""
