"""A generator that counts how many proposals were judged: every judgement takes one exponential."""


class CountingGenerator:
    def __init__(self, generator):
        self._generator = generator
        self.judged = 0

    def standard_exponential(self, size):
        self.judged += size
        return self._generator.standard_exponential(size)

    def __getattr__(self, name):
        return getattr(self._generator, name)
