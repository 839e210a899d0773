"""The catalogue of all rules, those of the compiler and those of the targets, and the page that shows them."""
