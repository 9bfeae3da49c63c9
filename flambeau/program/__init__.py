"""Floor 3: what a compiled unit is: functions, classes and the units that hold them."""
