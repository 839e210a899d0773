"""`olmc migrate`: a workspace's files changed for other APIs, and proof of what is kept and what is lost by it."""
