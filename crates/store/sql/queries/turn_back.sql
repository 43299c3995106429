-- Work for a role that comes back is before the bookmarks of those who passed it while another held it.
UPDATE bookmarks SET read_to = (SELECT MIN(l.event_id) - 1 FROM log l WHERE l.thread_no = $1)
 WHERE address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $2)
   AND read_to >= (SELECT MIN(l.event_id) FROM log l WHERE l.thread_no = $1)
