"""What would help an object that waits: changes a user could make, each tried on a fork before it is said."""
