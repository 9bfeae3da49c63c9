"""What a compiled unit is: functions, classes, objects, and the units that hold them."""
