"""How a cycle decides: filters, scores, placement, the group algorithm, the diagnosis."""
