"""Floor 3: what a compiled unit is: functions, classes, objects, and the units that hold them."""
