-- differs: what a replay refers to was taken back here by the fifth step.

-- The sessions of one agent, for its page and for those who look whom to wake.
CREATE INDEX sessions_by_agent ON sessions (agent_no);
