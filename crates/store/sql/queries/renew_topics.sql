UPDATE topics SET held_until = $1 WHERE bridge = $2
