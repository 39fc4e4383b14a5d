CREATE TABLE deep_scan (
    id UUID NOT NULL,
    content_digest TEXT NOT NULL,
    commit TEXT NOT NULL,
    tool TEXT NOT NULL,
    tool_version TEXT,
    status TEXT DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    node_id UUID,
    lease UUID,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    findings JSONB DEFAULT '[]'::jsonb NOT NULL,
    left_out INTEGER DEFAULT '0' NOT NULL,
    error TEXT,
    sandbox JSONB DEFAULT '{}'::jsonb NOT NULL,
    duration_ms FLOAT,
    CONSTRAINT deep_scan_pkey PRIMARY KEY (id),
    CONSTRAINT deep_scan_subject_key UNIQUE NULLS NOT DISTINCT (content_digest, tool, tool_version),
    CONSTRAINT deep_scan_content_digest_check CHECK (content_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT deep_scan_tool_check CHECK (tool IN ('kingfisher', 'njsscan', 'semgrep', 'trufflehog')),
    CONSTRAINT deep_scan_status_check CHECK (status IN ('clean', 'error', 'findings', 'not_applicable', 'pending', 'running')),
    CONSTRAINT deep_scan_leased_check CHECK ((status = 'running') = (lease IS NOT NULL) AND num_nulls(node_id, lease, lease_expires_at) IN (0, 3)),
    CONSTRAINT deep_scan_finished_check CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL)),
    CONSTRAINT deep_scan_error_check CHECK ((status = 'error') = (error IS NOT NULL)),
    CONSTRAINT deep_scan_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest)
)
-- ;
CREATE INDEX deep_scan_error_idx ON deep_scan (finished_at) WHERE status = 'error'
-- ;
CREATE INDEX deep_scan_leased_idx ON deep_scan (lease_expires_at) WHERE status = 'running'
-- ;
CREATE INDEX deep_scan_pending_idx ON deep_scan (tool, created_at, id) WHERE status = 'pending'
-- ;
CREATE TABLE scan_node (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    url TEXT,
    capacity INTEGER NOT NULL,
    in_flight INTEGER DEFAULT '0' NOT NULL,
    tools JSONB NOT NULL,
    sandbox JSONB DEFAULT '{}'::jsonb NOT NULL,
    version TEXT NOT NULL,
    push_failures INTEGER DEFAULT '0' NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT scan_node_pkey PRIMARY KEY (id),
    CONSTRAINT scan_node_capacity_check CHECK (capacity BETWEEN 1 AND 1000)
)
-- ;
CREATE INDEX scan_node_seen_at_idx ON scan_node (seen_at)
-- ;
CREATE TABLE webhook_delivery (
    id TEXT NOT NULL,
    deep_scan_id UUID,
    received_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id)
)
-- ;
CREATE INDEX webhook_delivery_received_at_idx ON webhook_delivery (received_at)
