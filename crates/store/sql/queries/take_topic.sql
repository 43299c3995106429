-- Only who has it, or whoever comes when nobody does.
UPDATE topics SET bridge = $1, held_until = $2
 WHERE topic_no = $3 AND (bridge IS NULL OR bridge = $1 OR held_until <= $4) RETURNING topic_no
