"""How each kind of object is explained, and the parts that explanations share."""
