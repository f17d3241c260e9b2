BEGIN TRANSACTION;
CREATE TABLE agent_messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL,
                message_data TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id)
                    ON DELETE CASCADE
            );
INSERT INTO "agent_messages" VALUES(1,'one','{"role": "user", "content": "Why is it slow?"}','2026-11-24 05:06:49');
INSERT INTO "agent_messages" VALUES(2,'one','{"type": "function_call", "call_id": "c1", "name": "read_log", "arguments": "{}"}','2026-11-24 05:06:49');
INSERT INTO "agent_messages" VALUES(3,'one','{"type": "function_call_output", "call_id": "c1", "output": "query took 84 ms"}','2026-11-24 05:06:49');
INSERT INTO "agent_messages" VALUES(4,'one','{"role": "assistant", "content": "It is slow."}','2026-11-24 05:06:49');
CREATE TABLE agent_sessions (
                session_id TEXT PRIMARY KEY,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
            );
INSERT INTO "agent_sessions" VALUES('one','2026-11-24 05:06:49','2026-11-24 05:06:49');
CREATE INDEX idx_agent_messages_session_id
            ON agent_messages (session_id, id)
        ;
COMMIT;
