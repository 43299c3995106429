-- What a person's passphrase is checked against, where she has locked her name.
ALTER TABLE agents ADD COLUMN seal TEXT;
