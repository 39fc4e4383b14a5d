"""The LLM judge: prompts, model client, answer checks, circuit breaker and budget."""
