"""What editors ask while somebody writes: `olmc lsp`.

Functions from what was compiled, a document and a position to an answer: `workspace` says what is compiled, with what
the editor has not saved yet, `findings` what an editor shows of what is wrong, `answers` what it shows at a position.
`server` alone knows the protocol and needs the extra `olmc[lsp]`.
"""
