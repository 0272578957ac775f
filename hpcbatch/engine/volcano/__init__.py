"""Volcano's scheduling and admission for the engine. Their rules are pure and in `hpcbatch.volcano`."""
