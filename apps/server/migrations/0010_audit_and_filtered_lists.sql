-- The audit log is added to and read, and nothing else, by whoever runs the service. The owner of a table can give
-- itself the rights back: docs/operations.md says how to take the table from the service's role as well.
revoke update, delete, truncate on audit_log from current_user;
