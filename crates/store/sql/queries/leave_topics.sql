UPDATE topics SET bridge = NULL, held_until = 0 WHERE bridge = $1
