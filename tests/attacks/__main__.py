"""Print the list of attacks: `python -m tests.attacks`."""

from .catalogue import attacks

for attack in attacks():
    print(attack.test)
    print(f"  who      {attack.who}\n  what     {attack.what}\n  instead  {attack.instead}\n")
