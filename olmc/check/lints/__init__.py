"""What compiles and still looks wrong; `every` lists the lints, functions from a `Subject` to diagnostics."""
