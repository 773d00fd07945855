"""What people look at: tables, progress and figures."""
