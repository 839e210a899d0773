"""What `olmc check` finds beyond what compiling and validating say: one module a subject, each with a tuple LINTS."""
