"""The bench: this service and its peers, measured side by side on one machine.

README.md says how each figure is taken and what it does not say.
"""
