"""Goals: who may open and change them, how their criteria stand, and turns that are sent back."""
