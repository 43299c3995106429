-- differs: only PostgreSQL has schemas to publish in.
-- Why the view cannot be shown in the schema $1 to the role $2, in a word; empty when it can.
WITH named AS (
    SELECT c.oid AS relation FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = 'inbox'
    UNION
    SELECT t.typrelid FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = $1 AND t.typname = 'inbox'
)
SELECT CASE
       WHEN $1 = current_schema() THEN 'own'
       WHEN $1 LIKE 'pg\_%' OR $1 = 'information_schema' OR NOT EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = $1) THEN 'schema'
       WHEN EXISTS (SELECT 1 FROM named WHERE NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = relation AND g.tgfoid = 'inbox_intake'::regproc)) THEN 'taken'
       WHEN NOT EXISTS (SELECT 1 FROM named) AND NOT has_schema_privilege($1, 'CREATE') THEN 'create'
       WHEN $2::text = '' THEN ''
       WHEN NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = $2) THEN 'role'
       WHEN NOT has_schema_privilege($2, $1, 'USAGE') THEN 'usage'
       ELSE '' END
