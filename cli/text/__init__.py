"""What commands print, as text: one module a view."""
